import { approvals } from "./approvals.js"
import { cooldowns } from "./cooldowns.js"
import { health } from "./health.js"
import { preview } from "./preview.js"
import { search } from "./search.js"
import { session } from "./session.js"
import { settings } from "./settings.js"
import { trash } from "./trash.js"

/** The sentences of the pages whose code comes when one of them is opened. */
export const late = { approvals, cooldowns, health, preview, search, session, settings, trash }
