/** @param {{api: Api}} with_ */
export function health({ api }) {
  void api
  return {
    phase: "loading",
    problem: "",

    /** @param {URLSearchParams} params */
    visit(params) {
      void params
    },

    leave() {},

    async load() {},
  }
}
