/* A new channel: only the fields of its kind, and the secret that was made for it, which is in that one answer only. */
import { alternate } from "./alternatives.js";

const form = document.getElementById("new-channel");
alternate(form, document.getElementById("channel-kind"));
form.addEventListener("done", (event) => {
  if (!event.detail.secret) {
    location.reload();
    return;
  }
  document.getElementById("made-secret-text").textContent = event.detail.secret;
  const place = document.getElementById("made-secret");
  place.hidden = false;
  place.focus();
});
