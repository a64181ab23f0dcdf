/**
 * The services as services.yaml declares them.
 * @param {{api: Api}} with_
 */
export function services({ api }) {
  return {
    items: /** @type {{name: string, description: string, state: string}[]} */ ([]),
    path: "",
    known: false,
    problems: /** @type {{path: string, line: number, message: string}[]} */ ([]),

    async load() {
      const answer = await api.all("/services").catch(() => null)
      this.known = true
      if (!answer) return
      this.items = answer.items
      this.path = answer.path
      this.problems = answer.problems
    },

    get names() {
      return this.items.map(({ name }) => name)
    },
  }
}
