/** Rules of fields for Windows containers. */
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import type { Container, PodSpec, WindowsSecurityContextOptions } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, forbiddenField, invalidEach, invalidValue, joined, none } from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const maxCredentialKiB = 64;
const maxDomainLength = 256;
const maxUserLength = 104;

export function validateWindowsOptions(
  options: WindowsSecurityContextOptions | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (options === undefined) return none;
  const failures: FieldFailure[] = [];
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: credential, runAsUserName } = options;
  if (name !== undefined) {
    addAll(failures, invalidEach(path.child('gmsaCredentialSpecName'), name, dns1123SubdomainErrors(name)));
  }
  const at = path.child('gmsaCredentialSpec');
  if (credential === '') failures.push(invalidValue(at, credential, 'gmsaCredentialSpec cannot be an empty string'));
  else if (credential !== undefined && Buffer.byteLength(credential) > maxCredentialKiB * 1024) {
    failures.push(invalidValue(at, credential, `gmsaCredentialSpec size must be under ${maxCredentialKiB} KiB`));
  }
  if (runAsUserName === undefined) return failures;
  const wrong = userNameErrors(runAsUserName);
  return joined(failures, invalidEach(path.child('runAsUserName'), runAsUserName, wrong));
}

const netBIOSName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const domainLabel = /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/;

/** `DOMAIN\user` or `user`, as Windows allows them. */
function userNameErrors(text: string): string[] {
  if (text === '') return ['runAsUserName cannot be an empty string'];
  if (/\p{Cc}/u.test(text)) return ['runAsUserName cannot contain control characters'];
  const parts = text.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? parts[0] : undefined;
  const errors: string[] = [];
  if (domain !== undefined) {
    if (domain.length >= maxDomainLength) {
      errors.push(`runAsUserName's Domain length must be under ${maxDomainLength} characters`);
    }
    if (!netBIOSName.test(domain) && !domain.split('.').every((label) => domainLabel.test(label))) {
      errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
  }
  if (user === '') errors.push("runAsUserName's User cannot be empty");
  else if (user.length > maxUserLength) {
    errors.push(`runAsUserName's User length must not be longer than ${maxUserLength} characters`);
  }
  if (/^[. ]+$/.test(user)) errors.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    errors.push('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]');
  }
  return errors;
}

/** Host process containers: all containers of a pod or none, and with host networking. */
export function validateHostProcesses(spec: PodSpec, options: PodOptions, path: FieldPath): readonly FieldFailure[] {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  const failures: FieldFailure[] = [];
  let hosted = 0;
  let others = 0;
  for (const list of containerLists) {
    spec[list]?.forEach(({ securityContext }: Pick<Container, 'securityContext'>, i) => {
      const own = securityContext?.windowsOptions?.hostProcess;
      if (ofPod !== undefined && own !== undefined && own !== ofPod) {
        const at = path.child(list).index(i).child('securityContext', 'windowsOptions', 'hostProcess');
        const text = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
        failures.push(invalidValue(at, own, text));
      }
      if (own ?? ofPod ?? false) hosted++;
      else others++;
    });
  }
  if (hosted === 0) return failures;
  if (others > 0) {
    const text = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    failures.push(invalidValue(path, '', text));
  }
  if (spec.hostNetwork !== true) {
    const text = 'hostNetwork must be true if pod contains any hostProcess containers';
    failures.push(invalidValue(path.child('hostNetwork'), false, text));
  }
  if (!options.privileged) {
    failures.push(forbiddenField(path, 'hostProcess containers are disallowed by cluster policy'));
  }
  return failures;
}
