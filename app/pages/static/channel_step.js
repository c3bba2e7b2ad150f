/* Step of setting up: a channel is stored, named in the deployment's rules, and tested. */
import { alternate } from "./alternatives.js";
import { ask, element } from "./api.js";
import { show } from "./deployment_form.js";
import { bodyOf, onSubmit } from "./forms.js";
import { forgetEdits, keepEdits } from "./saved.js";
import { addChannel } from "./rule_channels.js";

const EVERY = 1_000; // ms
const CHANNELS = "/v1/alert-channels";
const WAITING = "The test message waits to be sent. If this stays, no worker runs.";

export function startChannel(form) {
  const chosen = form.querySelector("[data-channel]");
  const result = form.querySelector("[data-result]");
  let made = null; // a second try corrects the channel of the first
  alternate(form, form.elements.namedItem("kind"));
  chosen.addEventListener("change", () => show(form.querySelector("[data-new]"), chosen.value === ""));
  keepEdits(form);
  onSubmit(form, async () => {
    result.hidden = true;
    const lines = [];
    let channel = chosen.value;
    if (channel === "") {
      const body = bodyOf(form);
      if (made?.kind !== body.kind) made = { kind: body.kind, id: await findFreeId(form.dataset.deployment, body.kind) };
      channel = made.id;
      const { secret } = await ask("PUT", `${CHANNELS}/${channel}`, body);
      if (secret) lines.push(`The messages are signed with ${secret}. Copy this secret now: it is not shown again, and the receiver needs it.`);
    }
    forgetEdits(form);
    const rules = `/v1/deployments/${encodeURIComponent(form.dataset.deployment)}/alert-rules`;
    const { alert_rules: stored } = await ask("GET", `${rules}?limit=100`);
    for (const rule of stored) await addChannel(`${rules}/${encodeURIComponent(rule.id)}`, channel);
    lines.push(stored.length ? `${stored.length === 1 ? "The rule" : `The ${stored.length} rules`} of this deployment now ${stored.length === 1 ? "sends" : "send"} to ${channel}.` : "This deployment has no rule: add one on its page of alerts.");
    await test(channel, (text, isGood) => tell(result, [...lines, text], isGood));
  });
}

/** Of the deployment and the kind; another deployment's channel is never replaced. */
async function findFreeId(deployment, kind) {
  const taken = new Set();
  for (let next = ""; next !== null;) {
    const page = await ask("GET", `${CHANNELS}?limit=100${next && `&cursor=${encodeURIComponent(next)}`}`);
    page.channels.forEach((one) => taken.add(one.id));
    next = page.next_cursor;
  }
  const begin = `${deployment.slice(0, 50)}-${kind}`;
  let id = begin;
  for (let number = 2; taken.has(id); number += 1) id = `${begin}-${number}`;
  return id;
}

async function test(channel, say) {
  let sent = await ask("POST", `${CHANNELS}/${channel}/tests`);
  while (sent.state === "waiting") {
    say(WAITING, true);
    await new Promise((resolve) => { setTimeout(resolve, EVERY); });
    sent = await ask("GET", `${CHANNELS}/${channel}/notifications/${sent.id}`);
  }
  if (sent.state === "sent") say("The test message was sent. Look whether it has arrived.", true);
  else say(`The test message was not sent: ${sent.last_error} Correct the channel and try again.`, false);
}

function tell(place, lines, isGood) {
  place.className = isGood ? "good" : "problem";
  place.replaceChildren(...lines.map((text) => element("p", { textContent: text })));
  place.hidden = false;
  place.focus();
}
