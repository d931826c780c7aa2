// checkstone: hold points for opencode. Written by `checkstone init`, removed by `checkstone uninstall`; do not edit.
// It calls the program below at opencode's events and carries out what that decides. If anything fails, the agent goes on.

import { spawn, spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const PROGRAM = "@PROGRAM@"
const LIMIT = 60_000

// `opencode run` exits as soon as the session is idle, so there the decision is made while it shuts down, which waits for us.
const words = process.argv.slice(2)
const command = words.find((word, at) => !word.startsWith("-") && words[at - 1] !== "--log-level")
const exitsWhenIdle = command === "run"

// Set for the process that goes on with a held session: the session and its turn.
const [heldSession, heldTurn] = (process.env.CHECKSTONE_HELD_TURN ?? "").split(" ")

const database = () => {
  const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  const name = process.env.OPENCODE_DB || "opencode.db"
  return isAbsolute(name) ? name : join(data, name)
}

// What a person chose on the command line and the session does not remember.
const chosen = () => {
  const end = words.indexOf("--")
  const options = end < 0 ? words : words.slice(0, end)
  const switches = ["--thinking", "--auto", "--yolo", "--dangerously-skip-permissions", "--print-logs"]
  return options.flatMap((word, at) => {
    if (word === "--format" || word === "--log-level") return [word, options[at + 1]]
    return switches.includes(word) || /^--(format|log-level)=/.test(word) ? [word] : []
  })
}

const parsed = (text) => {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

export const Checkstone = async ({ client, directory }) => {
  // It commits and pushes as soon as the agent stops, and nothing can be held in between.
  if (command === "github") return {}
  const sessions = new Map()

  const payload = (event, id, more) =>
    JSON.stringify({
      hook_event_name: event,
      session_id: id,
      transcript_path: join(database(), id),
      cwd: directory,
      ...more,
    })

  const ask = (event, id, more) =>
    new Promise((resolve) => {
      const stdio = ["pipe", "pipe", "ignore"]
      const child = spawn(PROGRAM, ["hook", "opencode"], { cwd: directory, stdio, timeout: LIMIT })
      let answer = ""
      child.on("error", () => resolve({}))
      child.on("close", () => resolve(parsed(answer)))
      child.stdout.setEncoding("utf8").on("data", (text) => (answer += text))
      child.stdin.on("error", () => {}).end(payload(event, id, more))
    })

  const askAtOnce = (event, id, more) => {
    const stdio = ["pipe", "pipe", "ignore"]
    const input = payload(event, id, more)
    const options = { cwd: directory, stdio, input, timeout: LIMIT, encoding: "utf8" }
    return parsed(spawnSync(PROGRAM, ["hook", "opencode"], options).stdout)
  }

  const tell = (message) => {
    if (!message) return
    if (exitsWhenIdle) process.stderr.write(`${message}\n`)
    else client.tui.showToast({ body: { title: "checkstone", message, variant: "info", duration: 10_000 } }).catch(() => {})
  }

  const stop = (session) => ({
    prompt_id: session.turn,
    last_assistant_message: session.text,
    stop_hook_active: session.isHeld,
    permission_mode: session.agent,
  })

  const isHold = (answer) => answer.decision === "block" && Boolean(answer.reason)

  const carryOut = (id, session, answer) => {
    if (isHold(answer)) {
      session.isHeld = true
      const { agent, model, variant } = session
      const parts = [{ type: "text", text: answer.reason }]
      client.session.promptAsync({ path: { id }, body: { agent, model, variant, parts } }).catch(() => {})
    }
    tell(answer.systemMessage)
  }

  // Another process goes on with the session, and this one ends when that does. Whether it could be started.
  const goOn = (id, { agent, model, variant, turn }, reason) =>
    new Promise((resolve) => {
      const script = process.argv[1] ?? ""
      const program = script.startsWith("/$bunfs/") ? [] : [script]
      const choices = [
        ...(agent ? ["--agent", agent] : []),
        ...(model ? ["--model", `${model.providerID}/${model.modelID}`] : []),
        ...(variant ? ["--variant", variant] : []),
        ...chosen(),
      ]
      const env = { ...process.env, CHECKSTONE_HELD_TURN: `${id} ${turn}` }
      const options = { stdio: ["pipe", "inherit", "inherit"], env }
      const child = spawn(process.execPath, [...program, "run", "--session", id, ...choices], options)
      const end = (signal) => child.kill(signal)
      for (const signal of ["SIGTERM", "SIGHUP"]) process.once(signal, end)
      child.on("error", () => resolve(false))
      child.on("close", (code) => {
        if (code) process.exitCode = code
        resolve(true)
      })
      child.stdin.on("error", () => {}).end(reason)
    })

  // The stop of `opencode run`: whether another process has gone on with the session.
  const stopAtExit = async (id, session) => {
    if (!session.hasEnded) return false
    session.hasEnded = false
    const answer = await ask("session.idle", id, stop(session))
    tell(answer.systemMessage)
    if (!isHold(answer)) return false
    tell(answer.reason)
    return goOn(id, session, answer.reason)
  }

  const seen = async (id) => {
    let session = sessions.get(id)
    if (!session) {
      const found = await client.session.get({ path: { id } }).catch(() => undefined)
      const held = id === heldSession ? { turn: heldTurn, isHeld: true } : {}
      session = { isOfSubagent: Boolean(found?.data?.parentID), withTools: new Set(), summaries: new Set(), ...held }
      sessions.set(id, session)
    }
    return session
  }

  return {
    "chat.message": async (_, { message, parts }) => {
      const id = message.sessionID
      const isFirst = !sessions.has(id)
      const session = await seen(id)
      const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      session.hasEnded = false
      if (session.isOfSubagent || (!prompt && parts.every((part) => part.type === "text" || part.type === "compaction"))) return
      const { agent, model } = message
      Object.assign(session, { agent, model, variant: message.variant ?? model?.variant })
      if (prompt.startsWith("[checkstone]")) return
      Object.assign(session, { turn: message.id, isHeld: false, text: undefined })
      if (isFirst) {
        const answer = await ask("session.created", id, { source: "startup" })
        const context = answer.hookSpecificOutput?.additionalContext
        const last = parts.at(-1)
        if (context && last) parts.push({ id: `${last.id}c`, messageID: message.id, sessionID: id, type: "text", text: context, synthetic: true })
        tell(answer.systemMessage)
      }
      tell((await ask("chat.message", id, { prompt, prompt_id: message.id, permission_mode: agent })).systemMessage)
    },

    event: ({ event: { type, properties } }) => {
      const id = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID
      const session = sessions.get(id)
      if (!session || session.isOfSubagent) return
      if (type === "message.updated" && properties.info.summary === true) session.summaries.add(properties.info.id)
      if (type === "session.error") session.hasEnded = false
      if (type === "message.part.updated") {
        const { part } = properties
        if (part.type === "tool") session.withTools.add(part.messageID)
        if (part.type === "text" && part.time?.end && !session.summaries.has(part.messageID)) session.text = part.text
        if (part.type === "step-start") session.hasEnded = false
        if (part.type === "step-finish") {
          const goesOn = part.reason === "tool-calls" || session.withTools.has(part.messageID)
          session.hasEnded = !goesOn && !session.summaries.has(part.messageID)
        }
      }
      if (type === "session.idle" && session.hasEnded && !exitsWhenIdle) {
        session.hasEnded = false
        ask("session.idle", id, stop(session)).then((answer) => carryOut(id, session, answer))
      }
    },

    "experimental.session.compacting": async ({ sessionID }) => {
      const session = sessions.get(sessionID)
      if (session && !session.isOfSubagent) tell((await ask("experimental.session.compacting", sessionID, {})).systemMessage)
    },

    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) env.OPENCODE_SESSION_ID = sessionID
    },

    dispose: async () => {
      for (const [id, session] of sessions) {
        if (session.isOfSubagent) continue
        if (exitsWhenIdle && (await stopAtExit(id, session).catch(() => false))) continue
        askAtOnce("dispose", id, {})
      }
    },
  }
}
