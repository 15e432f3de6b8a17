"""Records, subjects, certificates: what is proved, stored and checked. Nothing here needs torch but `certify`."""

from attribound.certificates.alike import compare
from attribound.certificates.certificate import COSINES, EPSILONS, Certificate, certificate_of
from attribound.certificates.record import Failure, Record, decode, encode
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
