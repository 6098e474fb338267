// From an address to its page.
import { isAdmin, isOperator } from "../lib/session.js";
import { Admin, OrganizationPage } from "./admin.js";
import { BatchPage } from "./batch.js";
import { Batches } from "./batches.js";
import { FilesPage } from "./files.js";
import { Missing } from "./missing.js";
import { Models } from "./models.js";
import { NewBatch } from "./new.js";
import { Overview } from "./overview.js";
import { UsagePage } from "./usage.js";
import { Webhooks } from "./webhooks.js";

export function pageOf({ path: [first, second, third] }, who) {
  const page = (Page, section, params = {}) => ({ Page, section, params });
  switch (first) {
    case undefined:
      return page(Overview, "overview");
    case "batches":
      return second ? page(BatchPage, "batches", { id: second }) : page(Batches, "batches");
    case "new":
      return isOperator() || !who.batches ? page(Missing, "") : page(NewBatch, "batches");
    case "files":
      return page(FilesPage, "files");
    case "models":
      return page(Models, "models");
    case "usage":
      return isOperator() ? page(Missing, "") : page(UsagePage, "usage");
    case "webhooks":
      return who.webhooks && isAdmin() && !isOperator() ? page(Webhooks, "webhooks", { id: second }) : page(Missing, "");
    case "admin":
      if (!isAdmin()) return page(Missing, "");
      return second === "organizations" && third
        ? page(OrganizationPage, "admin", { id: third })
        : page(Admin, "admin", { tab: second });
    default:
      return page(Missing, "");
  }
}
