import { useMemo, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Dialog } from '#dashboard/client/parts/dialog.js';
import { groupsOf } from '#dashboard/client/parts/navigation.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { matchingEntries, type PaletteEntry } from '#dashboard/model/palette.js';
import { kindLink, objectLink, placeLink } from '#dashboard/model/places.js';
import { pluralOf } from '#dashboard/model/words.js';

const maxEntries = 12;
const maxObjects = 6;

/** Pages, kinds, namespaces, and pods by name. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const { catalog, namespace, place, go } = useApp();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const pods = catalog.find('', 'pods');
  const hasText = text.trim().length >= 2;
  const state = useLive<'table'>(
    hasText
      ? { type: 'table', path: '/api/v1/pods', filter: text, sorting: undefined, first: 0, count: maxObjects }
      : undefined,
  );
  const namespaces = useLive<'table'>({
    ...{ type: 'table', path: '/api/v1/namespaces', filter: '', sorting: undefined, first: 0, count: 2000 },
  });
  const fixed = useMemo<PaletteEntry[]>(
    () => [
      ...groupsOf(catalog, namespace).flatMap(({ links }) =>
        links.map(({ text: title, link }) => ({ title, link, what: 'page' })),
      ),
      ...catalog.kinds.map((kind) => ({
        title: pluralOf(kind),
        what: kind.group === '' ? 'kind' : `kind of ${kind.group}`,
        words: [kind.resource, ...kind.shortNames].join(' '),
        link: kindLink(kind, { namespace }),
      })),
    ],
    [catalog, namespace],
  );
  const inNamespaces = (namespaces?.rows ?? []).map(({ name }) => ({
    ...{ title: name, what: 'namespace' },
    link: placeLink(place.segments[0] === 'objects' ? [] : place.segments, { ...place.query, namespace: name }),
  }));
  const objects =
    pods === undefined || !hasText
      ? []
      : (state?.rows ?? []).map((row) => ({
          ...{ title: row.name, what: `pod in ${row.namespace}` },
          link: objectLink(pods, row.namespace, row.name),
        }));
  const entries = [...matchingEntries([...fixed, ...inNamespaces], text, maxEntries), ...objects];
  const current = Math.min(chosen, entries.length - 1);
  const open = (link: string) => {
    onClose();
    go(link);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen(Math.min(entries.length - 1, Math.max(0, current + step)));
    }
    const entry = entries[current];
    if (event.key === 'Enter' && entry !== undefined) open(entry.link);
  };
  return (
    <Dialog label="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries[current] === undefined ? undefined : `palette-${current}`}
        aria-autocomplete="list"
        placeholder="A page, a kind, a namespace, a pod"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div role="listbox" id="palette-list" class="palette" aria-label="Places">
        {entries.map(({ title, what, link }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field takes the keys
          <div
            role="option"
            tabIndex={-1}
            id={`palette-${i}`}
            key={`${what} ${link}`}
            aria-selected={i === current}
            onClick={() => open(link)}
          >
            <span>{title}</span>
            <span class="note">{what}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}
