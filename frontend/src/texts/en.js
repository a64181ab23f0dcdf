import { common } from "./common.js"
import { events } from "./events.js"
import { hands } from "./hands.js"
import { health } from "./health.js"
import { memories } from "./memories.js"
import { memory } from "./memory.js"
import { overview } from "./overview.js"
import { preview } from "./preview.js"
import { reviews } from "./reviews.js"
import { sessions } from "./sessions.js"
import { settings } from "./settings.js"

/** Every sentence that the code says, by area; those of the pages stand in their HTML. */
export const en = { common, events, hands, health, memories, memory, overview, preview, reviews, sessions, settings }
