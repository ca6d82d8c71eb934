import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { StatusText } from '#dashboard/client/parts/status.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { useNow } from '#dashboard/client/parts/use-now.js';
import { ageText } from '#dashboard/model/age.js';
import type { ApiObject } from '#dashboard/model/api-object.js';
import { type EventObject, seenMs, timesSeen } from '#dashboard/model/events.js';

export function EventsTab({ kind, object }: TabProps) {
  return (
    <section class="card" aria-label="Events">
      <h2>Events</h2>
      <EventList kind={kind.kind} object={object} />
    </section>
  );
}

interface EventListProps {
  readonly kind: string;
  readonly object: ApiObject;
  /** Absent: all. */
  readonly limit?: number;
}

export function EventList({ kind, object, limit = 200 }: EventListProps) {
  const now = useNow();
  const { namespace, name = '', uid = '' } = object.metadata;
  const { dialect } = useApp();
  // Events about objects outside of namespaces are in the default one.
  const place = encodeURIComponent(namespace ?? dialect.namespaces.default);
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const state = useLive<'objects'>({
    type: 'objects',
    sources: [{ path: `/api/v1/namespaces/${place}/events`, fieldSelector }],
  });
  const list = state?.lists[0];
  if (list === undefined) return <Quiet>Loading…</Quiet>;
  const events = (list.items as readonly EventObject[])
    // The kubelet writes a node's name in place of its uid.
    .filter(({ involvedObject: { uid: of = uid } }) => of === uid || of === name)
    .sort((a, b) => seenMs(b) - seenMs(a))
    .slice(0, limit);
  return (
    <>
      <TroubleNotice trouble={list.trouble} />
      {events.length === 0 && list.trouble === undefined ? <Quiet>No events.</Quiet> : null}
      {events.length === 0 ? null : (
        <ScrollBox label="Events">
          <table class="plain">
            <thead>
              <tr>
                {['Last seen', 'Type', 'Reason', 'Times', 'Message'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {events.map((event) => (
                <tr key={event.metadata.uid ?? event.metadata.name}>
                  <td>{ageText(now - seenMs(event))}</td>
                  <td>
                    <StatusText text={event.type ?? ''} />
                  </td>
                  <td>{event.reason}</td>
                  <td>{timesSeen(event)}</td>
                  <td class="wrap">{event.message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollBox>
      )}
    </>
  );
}
