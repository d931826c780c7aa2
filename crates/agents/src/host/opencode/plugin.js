// checkstone: hold points for opencode. Written by `checkstone init`, removed by `checkstone uninstall`; do not edit.
// It calls the program below at opencode's events and carries out what that decides. If anything fails, the agent goes on.

import { spawn, spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const PROGRAM = "@PROGRAM@"
const LIMIT = 60_000

// `opencode run` exits as soon as the session is idle, so there the decision has to be made before.
const exitsWhenIdle = process.argv.slice(2).includes("run")

const database = () => {
  const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  const name = process.env.OPENCODE_DB || "opencode.db"
  return isAbsolute(name) ? name : join(data, name)
}

const parsed = (text) => {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

export const Checkstone = async ({ client, directory }) => {
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

  const carryOut = (id, session, answer) => {
    if (answer.decision === "block" && answer.reason) {
      session.isHeld = true
      const { agent, model, variant } = session
      const parts = [{ type: "text", text: answer.reason }]
      client.session.promptAsync({ path: { id }, body: { agent, model, variant, parts } }).catch(() => {})
    }
    tell(answer.systemMessage)
  }

  const seen = async (id) => {
    let session = sessions.get(id)
    if (!session) {
      const found = await client.session.get({ path: { id } }).catch(() => undefined)
      session = { isOfSubagent: Boolean(found?.data?.parentID), withTools: new Set(), summaries: new Set() }
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
          if (session.hasEnded && exitsWhenIdle) {
            session.hasEnded = false
            carryOut(id, session, askAtOnce("session.idle", id, stop(session)))
          }
        }
      }
      if (type === "session.idle" && session.hasEnded) {
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
      for (const [id, session] of sessions) if (!session.isOfSubagent) askAtOnce("dispose", id, {})
    },
  }
}
