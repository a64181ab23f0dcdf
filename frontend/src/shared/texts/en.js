import { common } from "./common.js"
import { events } from "../../pages/events/texts.js"
import { hands } from "./app.js"
import { memories } from "../../pages/memories/texts.js"
import { memory } from "../../pages/memory/texts.js"
import { overview } from "../../pages/overview/texts.js"
import { reviews } from "../../pages/reviews/texts.js"
import { sessions } from "../../pages/sessions/texts.js"

/** Every sentence that the code says, by area, but for those that come later. */
export const en = { common, events, hands, memories, memory, overview, reviews, sessions }
