import { toneOf } from '#dashboard/model/status.js';

/** A status in its colour; the text says it, too. */
export function StatusText({ text }: { readonly text: string }) {
  const tone = toneOf(text);
  if (tone === undefined) return <>{text}</>;
  return <span class={`status ${tone}`}>{text}</span>;
}
