import { defineTypes, message, object, optional, pointer, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    CertificateSigningRequest: object('Asks a signer for a certificate. Handed out once it is approved.', {
      spec: required(2, 'CertificateSigningRequestSpec', 'What the object is meant to be.'),
      status: optional(3, 'CertificateSigningRequestStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    CertificateSigningRequestCondition: message('A decision on a request.', {
      type: required(1, 'string', { enum: 'RequestConditionType' }, '`Approved`, `Denied` or `Failed`. Approved and Denied exclude each other and cannot be removed.'),
      status: required(6, 'string', 'Whether the condition holds; `True` for approval and denial.'),
      reason: optional(2, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(3, 'string', 'Details of the last change of the status, for people.'),
      lastUpdateTime: optional(4, 'meta.v1.Time', 'When the condition was last written.'),
      lastTransitionTime: optional(5, 'meta.v1.Time', 'When the status last changed.'),
    }),
    CertificateSigningRequestSpec: message('What certificate is asked for, and by whom. Cannot be changed.', {
      request: required(1, 'bytes', { listType: 'atomic' }, 'Certificate request (PKCS #10) in PEM, in base64.'),
      signerName: required(7, 'string', 'Signer that is asked, as `domain/name`.'),
      expirationSeconds: pointer(8, 'int32', { minimum: 600 }, "Seconds that the certificate should be valid; the signer may give less. Minimum 600. Default: the signer's choice."),
      usages: optional(5, 'string[]', { listType: 'atomic', enum: 'KeyUsage' }, 'What the key will be used for, such as `digital signature`, `key encipherment`, `client auth` or `server auth`.'),
      username: optional(2, 'string', 'User who asks. Set by the server.'),
      uid: optional(3, 'string', 'Identity of the user who asks. Set by the server.'),
      groups: optional(4, 'string[]', { listType: 'atomic' }, 'Groups of the user who asks. Set by the server.'),
      extra: optional(6, 'map<string, ExtraValue>', 'Further facts on the user who asks. Set by the server.'),
    }),
    CertificateSigningRequestStatus: message('What became of a request.', {
      conditions: optional(1, 'CertificateSigningRequestCondition[]', { listMapKeys: ['type'] }, 'Decisions on the request.'),
      certificate: optional(2, 'bytes', { listType: 'atomic' }, 'The certificate with its chain in PEM, in base64. Cannot be changed once set.'),
    }),
    ExtraValue: shaped('bareList', 'Values of a fact about a user.', {
      items: required(1, 'string[]', 'The values.'),
    }),
  },
  enums: {
    KeyUsage: [
      'any',
      'cert sign',
      'client auth',
      'code signing',
      'content commitment',
      'crl sign',
      'data encipherment',
      'decipher only',
      'digital signature',
      'email protection',
      'encipher only',
      'ipsec end system',
      'ipsec tunnel',
      'ipsec user',
      'key agreement',
      'key encipherment',
      'microsoft sgc',
      'netscape sgc',
      'ocsp signing',
      's/mime',
      'server auth',
      'signing',
      'timestamping',
    ],
    RequestConditionType: ['Approved', 'Denied', 'Failed'],
  },
  resources: [
    {
      resource: 'certificatesigningrequests',
      kind: 'CertificateSigningRequest',
      namespaced: false,
      shortNames: ['csr'],
      subresources: ['approval', 'status'],
      columns: ['Name', 'Age', 'SignerName', 'Requestor', 'RequestedDuration', 'Condition'],
    },
  ],
});
