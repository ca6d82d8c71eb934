import type { DiffLine } from '#dashboard/model/diff.js';

/** Unchanged lines around each change. */
const context = 3;
const signs = { same: ' ', removed: '-', added: '+' } as const;

export function DiffView({ lines }: { readonly lines: readonly DiffLine[] }) {
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - context), i + context + 1).some(({ type }) => type !== 'same'),
  );
  return (
    <pre class="code diff" tabIndex={0} role="region" aria-label="Difference">
      {lines.map(({ type, text }, i) => {
        if (near[i] === false) return near[i - 1] === true ? <span class="gap">⋯{'\n'}</span> : null;
        return (
          <span key={i} class={type}>
            {signs[type]} {text}
            {'\n'}
          </span>
        );
      })}
    </pre>
  );
}
