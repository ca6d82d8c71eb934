import { useEffect, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { placeLink } from '#dashboard/model/places.js';

const all = '';

/** A list for users who may list namespaces; for others a text, with those that they may see as its suggestions. */
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
  const names = state?.rows.map(({ name }) => name) ?? [];
  if (state?.trouble?.code === 403 || state?.isPartial === true)
    return <NamespaceText value={namespace ?? ''} names={names} onChange={choose} />;
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

interface NamespaceTextProps {
  readonly value: string;
  /** Suggestions. */
  readonly names: readonly string[];
  readonly onChange: (text: string) => void;
}

function NamespaceText({ value, names, onChange }: NamespaceTextProps) {
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
        list="visible-namespaces"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
      />
      <datalist id="visible-namespaces">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  );
}
