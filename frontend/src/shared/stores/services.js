/**
 * The services as services.yaml declares them.
 * @param {{api: Api}} dependencies
 */
export function services({ api }) {
  return {
    items: /** @type {{name: string, description: string, state: string}[]} */ ([]),
    path: "",
    loaded: false,
    problems: /** @type {{path: string, line: number, message: string}[]} */ ([]),

    async load() {
      const answer = await api.all("/services", { strip: 0 }).catch(() => null)
      this.loaded = true
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
