import { useApp } from '#dashboard/client/parts/app-context.js';
import { Dialog } from '#dashboard/client/parts/dialog.js';
import { groupsOf } from '#dashboard/client/parts/navigation.js';

const keys: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Go to a page, a kind or an object'],
  ['/', 'Filter or search on this page'],
  ['↑ ↓  j k', 'Move between rows'],
  ['Enter', 'Open the row'],
  ['?', 'These shortcuts'],
  ['Esc', 'Close'],
];

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  const { catalog, namespace } = useApp();
  const links = groupsOf(catalog, namespace).flatMap((group) => group.links);
  return (
    <Dialog label="Keyboard shortcuts" onClose={onClose}>
      <h2>Keyboard shortcuts</h2>
      <dl class="keys">
        {[
          ...keys,
          ...links.flatMap(({ key, text }): [string, string][] => (key === undefined ? [] : [[`g ${key}`, text]])),
        ].map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  );
}
