import { t } from "../../shared/texts/index.js"

const CHARS = 4
const MEMORIES = "## Operational Memory"
const TOOLS = "\n## Tools\n"

/**
 * The parts of a session's context in estimated tokens (4 characters each, as for the budget), with the share of each
 * part.
 * @param {{system: string, injected: string, prompt: string}} context
 */
export function contextParts({ system, injected, prompt }) {
  const at = injected.indexOf(MEMORIES)
  const environment = at < 0 ? injected : injected.slice(0, at)
  const tools = system.lastIndexOf(TOOLS)
  const rules = tools < 0 ? system.length : tools
  const sizes = Object.entries({
    system: rules,
    task: prompt.length,
    services: environment.trim().length,
    memories: injected.length - environment.length,
    tools: system.length - rules,
  }).filter(([, size]) => size > 0)
  const total = sizes.reduce((sum, [, size]) => sum + size, 0)
  return sizes.map(([key, size]) => {
    const tokens = Math.ceil(size / CHARS)
    return { key, share: size / total, words: t(/** @type {any} */ (`session.part_${key}`), { n: tokens }) }
  })
}
