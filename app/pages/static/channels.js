/* Channels: a new one has the fields of its kind. One that no rule names is offered to rules with open alerts. */
import { alternate } from "./alternatives.js";
import { ask } from "./api.js";
import { attempt } from "./forms.js";
import { addChannel } from "./rule_channels.js";

const form = document.getElementById("new-channel");
alternate(form, document.getElementById("channel-kind"));
form.addEventListener("done", (event) => {
  const address = `/alerts/channels#channel-${event.detail.id}`;
  if (!event.detail.secret) {
    show(address);
    return;
  }
  document.getElementById("made-secret-text").textContent = event.detail.secret;
  document.getElementById("made-channel").addEventListener("click", (click) => {
    click.preventDefault();
    show(address);
  });
  const place = document.getElementById("made-secret");
  place.hidden = false;
  place.focus();
});

document.addEventListener("submit", (event) => {
  const offer = /** @type {HTMLFormElement} */ (event.target);
  if (!offer.dataset.offer) return;
  event.preventDefault();
  attempt(offer, async () => {
    for (const one of /** @type {NodeListOf<HTMLInputElement>} */ (offer.querySelectorAll("[name=rule]:checked"))) await addChannel(one.value, offer.dataset.offer);
    await ask("POST", `/v1/alert-channels/${offer.dataset.offer}/notifications`);
    show(`/alerts/channels#channel-${offer.dataset.offer}`);
  });
});

/** With another fragment alone a browser would only scroll. */
function show(address) {
  history.replaceState(null, "", address);
  location.reload();
}
