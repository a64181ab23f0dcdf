import { THEMES } from "../../shared/frame/theme.js"
import { t } from "../../shared/texts/index.js"
import { filterField } from "./list.js"

/** Commands available on every page. @param {any} stores */
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
    { keys: "/", label: t("app.search_all"), when: () => !filterField(), run: () => router.go("/search") },
    { keys: "n", label: t("app.add_memory"), run: () => addMemory.show() },
    { keys: "r", label: t("app.run_session"), run: () => runNow.show() },
    { keys: "z", label: t("app.undo_last"), run: () => (review?.settled ? review.undo() : journal.undoLast()) },
    { label: t("app.halt"), when: () => !halt.on, run: () => halt.show() },
    { label: t("app.resume"), when: () => halt.releasable, run: () => halt.release() },
    { label: t("app.pause_live"), when: () => !live.paused, run: () => ui.togglePause() },
    { label: t("app.resume_live"), when: () => live.paused, run: () => ui.togglePause() },
    ...THEMES.map(({ choice, label }) => ({
      label,
      when: () => theme.choice !== choice,
      run: () => theme.choose(choice),
    })),
    { label: t("app.keys_on"), when: () => !keys.on, run: () => keys.turn(true) },
    { label: t("app.keys_off"), when: () => keys.on, run: () => keys.turn(false) },
    { label: t("app.log_out"), run: () => login.end() },
    { keys: "?", label: t("app.show_keys"), run: () => keys.show() },
    { keys: "Ctrl+k", label: t("app.open_palette"), run: () => palette.show(), native: true },
  ]
}
