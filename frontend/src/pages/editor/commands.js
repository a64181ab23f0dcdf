import { t } from "../../shared/texts/index.js"

/** Commands of the services editor. @param {Record<string, any>} stores */
export function editorCommands({ router, editor }) {
  const onPage = () => router.page === "editor"
  return [
    { label: t("editor.doAdd"), run: () => router.go("/editor?new=1") },
    { label: t("editor.doTest"), when: () => onPage() && editor.mode !== "", run: () => editor.test() },
    { label: t("editor.doSave"), when: () => onPage() && editor.mode !== "", run: () => editor.save() },
  ]
}
