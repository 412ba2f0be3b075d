"""Entity recognition as the denoising of boundaries (Shen et al., ACL 2023)."""
