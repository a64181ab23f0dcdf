import { common } from "./common.js"
import { app } from "./app.js"
import { memories } from "../../pages/memories/texts.js"
import { memory } from "../../pages/memory/texts.js"
import { overview } from "../../pages/overview/texts.js"
import { reviews } from "../../pages/reviews/texts.js"
import { sessions } from "../../pages/sessions/texts.js"

/** Texts of the first load, by area. */
export const en = { app, common, memories, memory, overview, reviews, sessions }
