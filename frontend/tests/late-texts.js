import { addTexts } from "../src/shared/texts/index.js"
import { late } from "../src/shared/texts/late.js"

// the sentences of pages that come late, as the app knows them by then
addTexts(late)
