import { health } from "./health.js"
import { preview } from "./preview.js"
import { settings } from "./settings.js"

/** The sentences of the pages whose code comes when one of them is opened. */
export const late = { health, preview, settings }
