import { t } from "../../shared/texts/index.js"

/** Commands of the prompt preview. @param {Record<string, any>} stores */
export function previewCommands({ preview, router }) {
  const onPage = () => router.page === "preview"
  return [
    ...[1, 2, 3].map((tier) => ({
      label: t("preview.doTier", { tier }),
      when: () => onPage() && preview.query.tier !== tier,
      run: () => preview.choose(tier),
    })),
    { label: t("preview.doReset"), when: () => onPage() && preview.changed, run: () => preview.reset() },
    { label: t("preview.doRefresh"), when: () => onPage() && preview.since > 0, run: () => preview.load() },
  ]
}
