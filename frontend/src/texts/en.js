import { common } from "./common.js"
import { events } from "./events.js"
import { hands } from "./hands.js"
import { memories } from "./memories.js"
import { memory } from "./memory.js"
import { overview } from "./overview.js"
import { reviews } from "./reviews.js"
import { sessions } from "./sessions.js"

/** Every sentence that the code says, by area, but for those that come later. */
export const en = { common, events, hands, memories, memory, overview, reviews, sessions }
