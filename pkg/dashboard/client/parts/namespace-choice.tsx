import { useEffect, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { placeLink } from '#dashboard/model/places.js';

const all = '';

/** A list for users who may list namespaces, a text for others. */
export function NamespaceChoice() {
  const { place, namespace, go } = useApp();
  const state = useLive<'table'>({
    ...{ type: 'table', path: '/api/v1/namespaces', filter: '', sorting: undefined },
    ...{ first: 0, count: 2000 },
  });
  const choose = (chosen: string) =>
    go(placeLink(place.segments, { ...place.query, namespace: chosen === all ? undefined : chosen }));
  const isObject = place.segments[0] === 'objects';
  if (isObject) return <span class="namespace-choice" />;
  if (state?.trouble?.code === 403) return <NamespaceText value={namespace ?? ''} onChange={choose} />;
  const names = state?.rows.map(({ name }) => name) ?? [];
  if (namespace !== undefined && !names.includes(namespace)) names.push(namespace);
  return (
    <select
      class="namespace-choice"
      aria-label="Namespace"
      value={namespace ?? all}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      <option value={all}>All namespaces</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function NamespaceText({ value, onChange }: { readonly value: string; readonly onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <form
      class="namespace-choice"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(text.trim());
      }}
    >
      <input
        aria-label="Namespace"
        placeholder="All namespaces"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </form>
  );
}
