import { useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { kindLink } from '#dashboard/model/places.js';

/** All kinds that the server serves, those of definitions among them. */
export function KindsPage() {
  const { catalog, namespace } = useApp();
  const [text, setText] = useState('');
  const lower = text.toLowerCase();
  const kinds = catalog.kinds.filter(
    ({ kind, resource, group, shortNames }) =>
      kind.toLowerCase().includes(lower) ||
      resource.includes(lower) ||
      group.includes(lower) ||
      shortNames.includes(lower),
  );
  return (
    <div class="page">
      <header class="page-head">
        <h1>All kinds</h1>
        <p class="count">{kinds.length}</p>
        <input
          type="search"
          class="filter"
          data-shortcut="/"
          aria-label="Filter kinds"
          placeholder="Filter ( / )"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </header>
      <section class="card" aria-label="Kinds">
        <ScrollBox label="Kinds">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Kind</th>
                <th scope="col">Resource</th>
                <th scope="col">Short</th>
                <th scope="col">Group</th>
                <th scope="col">Version</th>
                <th scope="col">In namespaces</th>
              </tr>
            </thead>
            <tbody>
              {kinds.map((kind) => (
                <tr key={`${kind.group}/${kind.resource}`}>
                  <td>
                    <a href={kindLink(kind, { namespace })}>{kind.kind}</a>
                  </td>
                  <td>{kind.resource}</td>
                  <td>{kind.shortNames.join(', ')}</td>
                  <td>{kind.group}</td>
                  <td>{kind.version}</td>
                  <td>{kind.namespaced ? 'yes' : 'no'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollBox>
      </section>
    </div>
  );
}
