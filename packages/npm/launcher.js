#!/usr/bin/env node
// Starts the program for this machine, which npm installed as a separate package. Nothing else happens here, and `checkstone init`
// registers that program itself: no hook goes through Node.js.
"use strict";

const known = {{packages}};

// Musl has no version of glibc to report.
const isMusl = () =>
  process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;

function find() {
  const fitting = known.filter((one) => one.os === process.platform && one.cpu === process.arch);
  const found = [];
  for (const one of fitting) {
    try {
      found.push({ libc: one.libc, path: require.resolve(`${one.name}/bin/checkstone`) });
    } catch {
      // Not installed.
    }
  }
  if (found.length > 1) {
    const libc = isMusl() ? "musl" : "glibc";
    return (found.find((one) => one.libc === libc) || found[0]).path;
  }
  if (found.length === 1) return found[0].path;
  const machine = `${process.platform} on ${process.arch}`;
  const why = fitting.length
    ? `the package ${fitting.map((one) => one.name).join(" or ")} is not installed.\n` +
      "hint: install checkstone again, without `--omit=optional` or `--no-optional`"
    : `there is no package for ${machine}.\nhint: build it with \`cargo install\`; on Windows, use WSL`;
  process.stderr.write(`error: checkstone cannot start: ${why}\n`);
  process.exit(6);
}

const program = find();
const words = process.argv.slice(2);
if (process.execve) {
  // Replaces this process; newer versions of Node.js can.
  process.execve(program, [program, ...words], process.env);
}
const child = require("node:child_process").spawn(program, words, { stdio: "inherit" });
// The terminal sends Ctrl-C to both, and the program decides what it means; a signal to this process alone is passed on.
process.on("SIGINT", () => {});
process.on("SIGQUIT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  process.stderr.write(`error: checkstone cannot start: ${error.message}\n`);
  process.exit(6);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  // Ends as the program did.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
