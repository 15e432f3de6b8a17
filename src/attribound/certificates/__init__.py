"""Records, subjects, certificates: what is proved, stored and checked. Nothing here needs torch but `certify`."""

from attribound.certificates.alike import compare
from attribound.certificates.certificate import Certificate, certificate_of
from attribound.certificates.record import Failure, Record, decode, encode
from attribound.certificates.statements.base import COSINES, EPSILONS
from attribound.certificates.subject import Subject
from attribound.certificates.verify import Verification, verify, verify_record

__all__ = [
    "COSINES",
    "EPSILONS",
    "Certificate",
    "Failure",
    "Record",
    "Subject",
    "Verification",
    "certificate_of",
    "compare",
    "decode",
    "encode",
    "verify",
    "verify_record",
]
