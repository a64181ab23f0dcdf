import { approvals } from "../../pages/approvals/texts.js"
import { audit } from "../../pages/audit/texts.js"
import { cooldowns } from "../../pages/cooldowns/texts.js"
import { incidents } from "../../pages/incidents/texts.js"
import { events } from "../../pages/events/texts.js"
import { editor } from "../../pages/editor/texts.js"
import { graph } from "../../pages/graph/texts.js"
import { health } from "../../pages/health/texts.js"
import { notebook } from "../../pages/notebook/texts.js"
import { organizer } from "../../pages/organizer/texts.js"
import { review } from "../../pages/reviews/late-texts.js"
import { preview } from "../../pages/preview/texts.js"
import { search } from "../../pages/search/texts.js"
import { service } from "../../pages/service/texts.js"
import { session } from "../../pages/session/texts.js"
import { settings } from "../../pages/settings/texts.js"
import { verification } from "../../pages/memory/verification/texts.js"
import { trash } from "../../pages/trash/texts.js"

/** Texts of the lazily loaded pages, by area. */
export const late = {
  approvals,
  audit,
  cooldowns,
  editor,
  events,
  graph,
  health,
  incidents,
  notebook,
  organizer,
  preview,
  review,
  search,
  service,
  session,
  settings,
  trash,
  verification,
}
