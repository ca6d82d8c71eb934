import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { StatusText } from '#dashboard/client/parts/status.js';
import { type Container, type ContainerStatus, type PodObject, stateText } from '#dashboard/model/pods.js';

export function ContainerTable({ pod }: { readonly pod: PodObject }) {
  const { spec, status } = pod;
  const rows = [
    ...rowsOf(spec.initContainers, status?.initContainerStatuses, true),
    ...rowsOf(spec.containers, status?.containerStatuses, false),
  ];
  return (
    <section class="card" aria-label="Containers">
      <h2>Containers</h2>
      <ScrollBox label="Containers">
        <table class="plain">
          <thead>
            <tr>
              {['Name', 'State', 'Last state', 'Restarts', 'Image', 'Requests', 'Limits'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ container: { name, image, resources }, isInit, of }) => (
              <tr key={name}>
                <td>
                  {name}
                  {isInit ? ' (init)' : ''}
                </td>
                <td>
                  <StatusText text={stateText(of?.state)} />
                </td>
                <td>{of?.lastState?.terminated === undefined ? '' : <StatusText text={stateText(of.lastState)} />}</td>
                <td>{of?.restartCount ?? 0}</td>
                <td class="wrap">{image}</td>
                <td>{quantities(resources?.requests)}</td>
                <td>{quantities(resources?.limits)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  );
}

function rowsOf(
  containers: readonly Container[] | undefined,
  statuses: readonly ContainerStatus[] | undefined,
  isInit: boolean,
) {
  return (containers ?? []).map((container) => ({
    ...{ container, isInit },
    of: statuses?.find(({ name }) => name === container.name),
  }));
}

function quantities(list: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(list ?? {})
    .map(([name, quantity]) => `${name} ${quantity}`)
    .join(', ');
}
