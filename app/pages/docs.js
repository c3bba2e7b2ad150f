/* Starts Swagger UI on the API page, in the reader's colours, and repairs what keeps its markup from keyboards and screen readers. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

// The line of an operation is a button, in which Swagger UI puts a link that does the same: two stops of the keyboard, one in the other.
const withoutLinks = ({ React }) => {
  const Text = ({ text }) => React.createElement("span", null, text);
  const wrap = (Path) => (props) => {
    const getComponent = (name, ...rest) => (name === "DeepLink" ? Text : props.getComponent(name, ...rest));
    return React.createElement(Path, { ...props, getComponent });
  };
  return { wrapComponents: { OperationSummaryPath: wrap } };
};

// Fields without a label get the name of their parameter, and examples that scroll a stop of the keyboard.
const repair = () => {
  for (const field of document.querySelectorAll("#swagger-ui :is(textarea, select, input):not([aria-label], [id])"))
    field.setAttribute("aria-label", field.closest("[data-param-name]")?.dataset.paramName ?? "Request body");
  for (const example of document.querySelectorAll("#swagger-ui .microlight:not([tabindex])")) example.setAttribute("tabindex", "0");
};
new MutationObserver(repair).observe(document.getElementById("swagger-ui"), { childList: true, subtree: true });

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  plugins: [withoutLinks],
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
