/** Values of the core group in Go syntax, for messages. */

import { declaration as cloudVolumes } from '#api/core/v1/cloud-volumes.js';
import { declaration as container } from '#api/core/v1/container.js';
import { declaration as containerStatus } from '#api/core/v1/container-status.js';
import { declaration as environment } from '#api/core/v1/environment.js';
import { declaration as ephemeralcontainer } from '#api/core/v1/ephemeralcontainer.js';
import { declaration as event } from '#api/core/v1/event.js';
import { declaration as networkVolumes } from '#api/core/v1/network-volumes.js';
import { declaration as node } from '#api/core/v1/node.js';
import { declaration as persistentvolume } from '#api/core/v1/persistentvolume.js';
import { declaration as persistentvolumeSources } from '#api/core/v1/persistentvolume-sources.js';
import { declaration as persistentvolumeclaim } from '#api/core/v1/persistentvolumeclaim.js';
import { declaration as pod } from '#api/core/v1/pod.js';
import { declaration as podDns } from '#api/core/v1/pod-dns.js';
import { declaration as podStatus } from '#api/core/v1/pod-status.js';
import { declaration as podtemplate } from '#api/core/v1/podtemplate.js';
import { declaration as probe } from '#api/core/v1/probe.js';
import { declaration as projectedVolumes } from '#api/core/v1/projected-volumes.js';
import { declaration as replicationcontroller } from '#api/core/v1/replicationcontroller.js';
import { declaration as resourcequota } from '#api/core/v1/resourcequota.js';
import { declaration as scheduling } from '#api/core/v1/scheduling.js';
import { declaration as securitycontext } from '#api/core/v1/securitycontext.js';
import { declaration as service } from '#api/core/v1/service.js';
import { declaration as shared } from '#api/core/v1/shared.js';
import { declaration as volume } from '#api/core/v1/volume.js';
import { goValuesOf } from '#api/go/go-values.js';

export const coreValues = goValuesOf('core', 'v1', [
  ...[cloudVolumes, containerStatus, container, environment],
  ...[ephemeralcontainer, event, networkVolumes, node],
  ...[persistentvolumeSources, persistentvolume, persistentvolumeclaim, podDns],
  ...[podStatus, pod, podtemplate, probe],
  ...[projectedVolumes, replicationcontroller, resourcequota, scheduling],
  ...[securitycontext, service, shared, volume],
]);
