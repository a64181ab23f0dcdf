import { addTexts } from "../src/shared/texts/index.js"
import { late } from "../src/shared/texts/late.js"

// the texts of the pages that the app loads on demand
addTexts(late)
