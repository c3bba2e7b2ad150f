/* Names that the scripts of the pages find in the browser and TypeScript does not know. */

/** forms.js ends a form with data-after="none" with it; `detail` is the service's answer. */
interface HTMLElementEventMap {
  done: CustomEvent;
}
