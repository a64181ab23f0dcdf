import { t } from "../../shared/texts/index.js"

/**
 * Keys for approvals. A key only opens the form: nothing runs before a second press.
 * @param {any} stores
 */
export function approvalsCommands({ router, approvalQueue }) {
  const onPage = () =>
    router.page === "approvals" && Boolean(approvalQueue?.may()) && !/deny|edit/.test(approvalQueue.form)
  return [
    { keys: "a", label: t("app.approval_approve"), when: onPage, run: () => approvalQueue.ask("approve") },
    { keys: "d", label: t("app.approval_deny"), when: onPage, run: () => approvalQueue.ask("deny") },
    { keys: "e", label: t("app.approval_edit"), when: onPage, run: () => approvalQueue.ask("edit") },
  ]
}
