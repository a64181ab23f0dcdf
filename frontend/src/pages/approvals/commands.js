import { t } from "../../shared/texts/index.js"

/**
 * Answers to what a session asks. A key only begins: nothing runs before a second press.
 * @param {any} stores
 */
export function approvalsCommands({ router, deciding }) {
  const here = () => router.page === "approvals" && Boolean(deciding?.may()) && !/deny|edit/.test(deciding.form)
  return [
    { keys: "a", label: t("app.approval_approve"), when: here, run: () => deciding.ask("approve") },
    { keys: "d", label: t("app.approval_deny"), when: here, run: () => deciding.ask("deny") },
    { keys: "e", label: t("app.approval_edit"), when: here, run: () => deciding.ask("edit") },
  ]
}
