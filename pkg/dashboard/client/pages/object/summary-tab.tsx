import { ContainerTable } from '#dashboard/client/pages/object/container-table.js';
import { EventList } from '#dashboard/client/pages/object/events-tab.js';
import { FactList } from '#dashboard/client/pages/object/fact-list.js';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { StatusText } from '#dashboard/client/parts/status.js';
import { WhyPanel } from '#dashboard/client/parts/why-panel.js';
import type { ApiObject } from '#dashboard/model/api-object.js';
import { objectPath } from '#dashboard/model/catalog.js';
import { isPod } from '#dashboard/model/pods.js';

export function SummaryTab({ kind, object }: TabProps) {
  const { namespace, name = '', resourceVersion = '' } = object.metadata;
  const path = objectPath(kind, namespace, name);
  const request = { kind: kind.kind, path, name, ...(namespace === undefined ? {} : { namespace }) };
  return (
    <div class="columns">
      <div>
        <WhyPanel request={request} version={resourceVersion} />
        {isPod(object, kind) ? <ContainerTable pod={object} /> : null}
        <Conditions object={object} />
        <section class="card" aria-label="Events">
          <h2>Events</h2>
          <EventList kind={kind.kind} object={object} limit={10} />
        </section>
      </div>
      <FactList kind={kind} object={object} />
    </div>
  );
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

function Conditions({ object }: { readonly object: ApiObject }) {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } };
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return null;
  return (
    <section class="card" aria-label="Conditions">
      <h2>Conditions</h2>
      <ScrollBox label="Conditions">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Status</th>
              <th scope="col">Reason</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>
            {conditions.map(({ type, status: value, reason, message }) => (
              <tr key={type}>
                <td>{type}</td>
                <td>
                  <StatusText text={value} />
                </td>
                <td>{reason}</td>
                <td class="wrap">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  );
}
