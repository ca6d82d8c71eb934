import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { LogView } from '#dashboard/client/parts/log-view.js';
import { podSelection } from '#dashboard/model/selectors.js';

export function LogsTab({ kind, object }: TabProps) {
  return <LogView namespace={object.metadata.namespace ?? ''} selection={podSelection(kind, object)} />;
}
