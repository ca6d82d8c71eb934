/** Client configs of a machine whose way to the API servers may have another port than at its last start. */
import { editClientConfig } from '#cmd/orch/process/edit-client-config.js';

/** Has all clusters of the file at this server. No error where there is no file; throws KubeconfigErrors. */
export function pointAt(file: string, server: string): void {
  editClientConfig(file, ({ clusters }) => {
    for (const { cluster } of clusters) {
      cluster.server = server;
      // The address is this machine's, but what is behind it is not: large answers come compressed.
      cluster['disable-compression'] = false;
    }
  });
}
