/* Shows a key that was just made: its text is in that one answer only. */
document.getElementById("new-key")?.addEventListener("done", (event) => {
  document.getElementById("made-key-text").textContent = event.detail.key;
  const place = document.getElementById("made-key");
  place.hidden = false;
  place.focus();
});
