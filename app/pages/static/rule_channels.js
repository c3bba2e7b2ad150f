import { ask } from "./api.js";

const RULE = ["name", "condition", "remind_after_hours", "channels", "enabled"];

/** Adds the channel to the rule at this address, which stays as it is otherwise. */
export async function addChannel(address, channel) {
  const stored = await ask("GET", address);
  if (stored.channels.includes(channel)) return;
  const rule = Object.fromEntries(RULE.map((name) => [name, stored[name]]));
  await ask("PUT", address, { ...rule, channels: [...stored.channels, channel] });
}
