import { THEMES } from "../../shared/frame/theme.js"
import { t } from "../../shared/texts/index.js"
import { filterField } from "./list.js"

/** What can be done on every page. @param {any} stores */
export function anywhereCommands({
  router,
  addMemory,
  runNow,
  review,
  journal,
  keys,
  ui,
  live,
  theme,
  login,
  palette,
  halt,
}) {
  return [
    { keys: "/", label: t("hands.search_all"), when: () => !filterField(), run: () => router.go("/search") },
    { keys: "n", label: t("hands.write_memory"), run: () => addMemory.show() },
    { keys: "r", label: t("hands.run_session"), run: () => runNow.show() },
    { keys: "z", label: t("hands.undo_last"), run: () => (review?.settled ? review.undo() : journal.undoLast()) },
    { label: t("hands.stop_everything"), when: () => !halt.on, run: () => halt.show() },
    { label: t("hands.go_on"), when: () => halt.ours, run: () => halt.release() },
    { label: t("hands.pause_live"), when: () => !live.paused, run: () => ui.togglePause() },
    { label: t("hands.resume_live"), when: () => live.paused, run: () => ui.togglePause() },
    ...THEMES.map(({ choice, label }) => ({
      label,
      when: () => theme.choice !== choice,
      run: () => theme.choose(choice),
    })),
    { label: t("hands.keys_on"), when: () => !keys.on, run: () => keys.turn(true) },
    { label: t("hands.keys_off"), when: () => keys.on, run: () => keys.turn(false) },
    { label: t("hands.log_out"), run: () => login.end() },
    { keys: "?", label: t("hands.show_keys"), run: () => keys.show() },
    { keys: "Ctrl+k", label: t("hands.open_palette"), run: () => palette.show(), native: true },
  ]
}
