// Webhooks: to be filled when the routes are there.
export { Missing as Webhooks } from "./missing.js";
