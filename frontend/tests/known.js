import { learn } from "../src/texts.js"
import { late } from "../src/texts/late.js"

// the sentences of pages that come late, as the app knows them by then
learn(late)
