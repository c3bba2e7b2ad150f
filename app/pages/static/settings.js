/* A new key's text is in this one answer only. */
for (const form of document.querySelectorAll("[data-shows-key]")) {
  form.addEventListener("done", (event) => {
    const made = event.detail.new || event.detail;
    document.getElementById("made-key-text").textContent = made.key;
    const old = document.getElementById("made-key-old");
    old.hidden = !event.detail.old;
    if (event.detail.old) old.textContent = `The key ${event.detail.old.id} is valid until ${event.detail.old.expires_at.slice(0, 16).replace("T", " ")} UTC.`;
    const place = document.getElementById("made-key");
    place.hidden = false;
    place.focus();
  });
}
