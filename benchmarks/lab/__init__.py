"""The lab: real services, real faults, a real home; what it detects, repairs and learns."""
