/** @param {{api: Api}} with_ */
export function settings({ api }) {
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
