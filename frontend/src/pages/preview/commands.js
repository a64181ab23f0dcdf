import { t } from "../../shared/texts/index.js"

/** Commands of the prompt preview. @param {Record<string, any>} stores */
export function previewCommands({ preview, router }) {
  const here = () => router.page === "preview"
  return [
    ...[1, 2, 3].map((tier) => ({
      label: t("preview.doTier", { tier }),
      when: () => here() && preview.query.tier !== tier,
      run: () => preview.choose(tier),
    })),
    { label: t("preview.doReset"), when: () => here() && preview.changed, run: () => preview.reset() },
    { label: t("preview.doRefresh"), when: () => here() && preview.since > 0, run: () => preview.load() },
  ]
}
